/** The text of the configuration file that `godwit init` writes: every setting with one line of explanation. */
import { ConsentTable } from "../consent/consent-settings.ts";
import { SETTINGS, type Setting } from "../settings.ts";
import { plain, wrapLines } from "./help.ts";
import { routeRows, senderRows, STARTER_NAMES, starterOf, type Row, type Rows, type Starter } from "./starter-links.ts";

/** Returns the text of the file, the sections of the carriers in it, and the environment variables with their secrets. */
export function starterFile(file: string, carriers: readonly string[]): { text: string; sections: string; variables: string[] } {
  const starters = carriers.map(starterOf);
  const variables = [...new Set(starters.flatMap(({ variables: own }) => own))];
  const sections = [...starters.flatMap((starter) => linkText(starter)), ...routesText(starters)];
  const paragraphs = [
    head(file, variables),
    ...Object.values<Setting>(SETTINGS).flatMap((setting) => (isInFile(setting) ? [settingText(setting)] : [])),
    countriesText(),
    consentText(),
    ...(starters.length === 0 ? [noCarrier(file)] : sections),
  ];
  return { text: `${paragraphs.join("\n\n")}\n`, sections: `${sections.join("\n\n")}\n`, variables };
}

/** The file does not name itself, and secrets are not in files. */
const isInFile = ({ flag, isSecret }: Setting): boolean => flag !== "config" && isSecret !== true;

const comment = (lines: readonly string[]): string => lines.map((line) => `# ${line}`.trimEnd()).join("\n");

// Fits beside an editor's other windows.
const WIDTH = 110;
const explanation = (text: string): string => comment(wrapLines(plain(text), WIDTH));

const head = (file: string, variables: readonly string[]): string =>
  comment([
    "Configuration of Godwit. Start the service with it, and check it after each change:",
    `  godwit serve --config ${file}`,
    `  godwit config check ${file}`,
    "",
    "Lines with a # directly before the name of a setting have no effect: remove the # to use them. They show the default, or an example.",
    "A flag wins over an environment variable, and a variable over this file. The name of the variable is in brackets.",
    "",
    "Secrets are not in this file. Set them in the environment of the service:",
    ...wrapLines(`${SETTINGS.secretKey.env}: ${plain(SETTINGS.secretKey.help)}`, WIDTH).map((line) => `  ${line}`),
    ...variables.map((name) => `  ${name}: needed by a link below`),
  ]);

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

function settingText({ flag, env, help, fallback, example, value = "", isList }: Setting): string {
  const text = fallback ?? example ?? value;
  const inToml = isList ? JSON.stringify(text.split(",")) : /^\d+$/.test(text) ? text : JSON.stringify(text);
  return `${explanation(`${sentence(help)} (${env}).`)}\n#${flag.replaceAll("-", "_")} = ${inToml}`;
}

const noCarrier = (file: string): string =>
  comment([
    "Carriers. This file has none: set one up in the console, or add the section of one to this file:",
    `  godwit init ${file} --append --carrier NAME`,
    `Names: ${STARTER_NAMES.join(", ")}.`,
  ]);

const rowText = ([name, value, help]: Row, mark: "" | "#"): string => `${explanation(help)}\n${mark}${name} = ${value}`;

/** The first paragraph has the head of the table and its first setting. */
function tableText(name: string, about: readonly string[], { set, optional }: Rows): string[] {
  const [first = "", ...others] = [...set.map((row) => rowText(row, "")), ...optional.map((row) => rowText(row, "#"))];
  return [`${comment(about)}\n[[${name}]]\n${first}`, ...others];
}

const linkName = ({ set }: Starter): string => JSON.parse(set.find(([name]) => name === "name")?.[1] ?? '""') as string;

const linkText = (starter: Starter): string[] => [
  ...tableText(
    "link",
    [`A link to a carrier: ${starter.title}.`, ...starter.notes, `Its secrets are in the environment: ${starter.variables.join(", ")}.`],
    starter,
  ),
  ...tableText("sender", ["A sender of the link."], senderRows(linkName(starter))),
];

/** A route for each channel, over all its links. */
const routesText = (starters: readonly Starter[]): string[] =>
  [...new Set(starters.map(({ channel }) => channel))].flatMap((channel) =>
    tableText(
      "route",
      [`The way of ${channel} messages in live. One route is enough for several links: add their names to its list.`],
      routeRows(channel, starters.filter((starter) => starter.channel === channel).map(linkName)),
    ),
  );

const countriesText = (): string =>
  `${comment(["Countries that messages of an environment may go to. Without a list, every country."])}\n#[allowed_countries]\n#live = ["US", "CA"]`;

/** Defaults of consent for one environment of an account. The explanations are those of the API. */
function consentText(): string {
  const { languages, opt_out_words, opt_in_words, help_words, replies } = ConsentTable.properties;
  const rows: Row[] = [
    ["account", '"default"', "Account with these settings."],
    ["environment", '"live"', "Environment with these settings."],
    ["languages", '["es", "pt"]', String(languages["description"])],
    ["opt_out_words", '["NO MAS"]', String(opt_out_words["description"])],
    ["opt_in_words", '["SEGUIR"]', String(opt_in_words["description"])],
    ["help_words", '["AYUDA"]', String(help_words["description"])],
    [
      "replies",
      '{ opt_out = "You will receive no more messages." }',
      `Automatic replies: ${Object.keys(replies["properties"]).join(", ")}.`,
    ],
  ];
  return [
    comment(["Opt-out words and automatic replies. Settings that an account makes in the API win."]),
    "#[[consent]]",
    ...rows.map((row) => rowText(row, "#")),
  ].join("\n");
}
