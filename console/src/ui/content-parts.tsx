/** Contents without a file and without buttons: places, people, forms, orders, and those of unknown types. */
import type { components } from "godwit-sdk";
import type { JSX } from "preact";

type Schemas = components["schemas"];

/** A place with a link to a map, which opens only when the user follows it. */
export function Place({ content: { latitude, longitude, name, address } }: { content: Schemas["LocationContent"] }): JSX.Element {
  const position = `${latitude}, ${longitude}`;
  const map = `https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}#map=16/${latitude}/${longitude}`;
  return (
    <div class="content-card">
      <p class="strong">{name ?? "Location"}</p>
      {address !== null && <p>{address}</p>}
      <p>
        <span class="quiet">{position}</span>{" "}
        <a href={map} target="_blank" rel="noreferrer">
          Open a map<span class="unseen"> of {name ?? position}</span>
        </a>
      </p>
    </div>
  );
}

export const ContactCards = ({ contacts }: { contacts: readonly Schemas["Contact"][] }): JSX.Element => (
  <>
    {contacts.map((contact, at) => (
      // oxlint-disable-next-line react/no-array-index-key -- Two people may have the same name.
      <ContactCard key={at} contact={contact} />
    ))}
  </>
);

function ContactCard({ contact: { name, phones, emails, urls, addresses, org, birthday } }: { contact: Schemas["Contact"] }): JSX.Element {
  const joined = (...parts: readonly (string | null)[]): string => parts.filter((part) => part !== null && part !== "").join(", ");
  const rows = [
    ...phones.map(({ phone, type }) => [type ?? "Phone", phone]),
    ...emails.map(({ email, type }) => [type ?? "E-mail", email]),
    ...urls.map(({ url, type }) => [type ?? "Page", url]),
    ...addresses.map(({ street, zip, city, state, country, type }) => [type ?? "Address", joined(street, zip, city, state, country)]),
    ...(birthday === null ? [] : [["Birthday", birthday]]),
  ];
  const work = org === null ? "" : joined(org.title, org.department, org.company);
  return (
    <div class="content-card" role="group" aria-label={`Contact ${name.formatted_name}`}>
      <p class="strong">{name.formatted_name}</p>
      {work !== "" && <p>{work}</p>}
      <Pairs rows={rows} />
    </div>
  );
}

const Pairs = ({ rows }: { rows: readonly (readonly (string | undefined)[])[] }): JSX.Element | null =>
  rows.length === 0 ? null : (
    <dl class="pairs">
      {rows.map(([name, value], at) => (
        // oxlint-disable-next-line react/no-array-index-key -- A person may have two numbers of one type.
        <div key={at}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );

const parsed = (text: string | null): unknown => {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
};

export function FormEntries({ content: { name, response } }: { content: Schemas["FormContent"] }): JSX.Element {
  const entries = parsed(response);
  const isFlat = typeof entries === "object" && entries !== null && !Array.isArray(entries);
  return (
    <div class="content-card">
      <p class="strong">{name ?? "Form"}</p>
      {isFlat ? (
        <Pairs rows={Object.entries(entries).map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)])} />
      ) : (
        <p class="quiet">{response ?? "The entries were too large to keep."}</p>
      )}
    </div>
  );
}

export const Order = ({ content: { catalog_id: catalog, text, items } }: { content: Schemas["OrderContent"] }): JSX.Element => (
  <div class="content-card">
    <p class="strong">Order</p>
    {text !== null && <p>{text}</p>}
    <table class="order" aria-label="Products">
      <thead>
        <tr>
          <th scope="col">Product</th>
          <th scope="col" class="number">
            Quantity
          </th>
          <th scope="col" class="number">
            Price
          </th>
        </tr>
      </thead>
      <tbody>
        {items.map(({ product_id: product, quantity, price, currency }, at) => (
          // oxlint-disable-next-line react/no-array-index-key -- A product may be in an order twice.
          <tr key={at}>
            <td>{product}</td>
            <td class="number">{quantity}</td>
            <td class="number">
              {price} {currency}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
    {catalog !== null && <p class="quiet">Catalog {catalog}</p>}
  </div>
);

/** A content that is not known, as JSON. */
export function Original({ label, text }: { label: string; text: string | null }): JSX.Element {
  const value = parsed(text);
  return (
    <div class="content-card">
      <p>{label}.</p>
      {text !== null && (
        <details>
          <summary>As the carrier sent it</summary>
          <pre tabIndex={0} aria-label="Original">
            {value === undefined ? text : JSON.stringify(value, null, 2)}
          </pre>
        </details>
      )}
    </div>
  );
}
