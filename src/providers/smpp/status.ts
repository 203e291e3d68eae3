/** The meaning of a command_status for the message. */
import type { SendOutcome } from "../provider.ts";
import { STATUS } from "./pdu.ts";

type Refusal = { code: string; message: string };

/** Statuses with a specific reason. */
const REFUSALS: Readonly<Record<number, Refusal>> = {
  0x01: { code: "message_too_long", message: "The message is too long for the carrier" },
  0x0a: { code: "invalid_sender", message: "The carrier does not accept this sender" },
  0x0b: { code: "invalid_destination", message: "The carrier does not know this number" },
  0x48: { code: "invalid_sender", message: "The carrier does not accept senders of this type" },
  0x49: { code: "invalid_sender", message: "The carrier does not accept senders of this numbering plan" },
  0x50: { code: "invalid_destination", message: "The carrier does not accept numbers of this type" },
  0x51: { code: "invalid_destination", message: "The carrier does not accept numbers of this numbering plan" },
};
const REFUSED: Refusal = { code: "rejected_by_carrier", message: "The carrier refused the message" };

/** Statuses that the standard defines and that would be the same on a second attempt: they concern the message, its addresses, or the
 *  fields of its submit_sm. All others are transient: they concern the carrier or the connection, or only the carrier's documentation
 *  explains them. Carriers use 0x400 to 0x4FF for "no credit", "no route" and the like. 0x61, 0x62 and 0x66 depend on the carrier's clock and on
 *  its applications. */
const FINAL: readonly StatusRange[] = [
  [0x01, 0x03],
  [0x06, 0x07],
  [0x0a, 0x0c],
  [0x0e, 0x0f],
  [0x11, 0x11],
  [0x13, 0x13],
  [0x15, 0x15],
  [0x33, 0x34],
  [0x40, 0x40],
  [0x42, 0x45],
  [0x48, 0x49],
  [0x50, 0x51],
  [0x53, 0x55],
  [0x63, 0x63],
  [0x65, 0x65],
  [0x67, 0x67],
  [0xc0, 0xc4],
];
const THROTTLE: readonly StatusRange[] = [STATUS.throttled, STATUS.queueFull].map((status) => [status, status]);
const TRANSIENT_REFUSAL: Refusal = { code: "carrier_unavailable", message: "The carrier cannot accept the message at the moment" };

/** `0x0B`: the form in carriers' documentation. */
export const statusCode = (status: number): string => `0x${status.toString(16).toUpperCase().padStart(2, "0")}`;

/** The statuses of a bind whose meaning leads to its correction. */
const BIND_REFUSALS: ReadonlyMap<number, string> = new Map([
  [STATUS.bindStatus, "the carrier does not permit this kind of bind"],
  [STATUS.alreadyBound, "the carrier has another bind of this account"],
  [STATUS.systemError, "the carrier has a system error"],
  [STATUS.invalidPassword, "the carrier refuses the password"],
  [STATUS.invalidSystemId, "the carrier does not know the system_id"],
]);

/** Says why the carrier refuses a bind: `the carrier refuses the password (0x0E)`. */
export const bindRefusal = (status: number): string =>
  `${BIND_REFUSALS.get(status) ?? "the carrier refuses the bind"} (${statusCode(status)})`;

type StatusRange = readonly [first: number, last: number];
type StatusClass = "final" | "transient" | "throttle";

/** The statuses whose meaning on a link differs from the standard's. An entry is a number or a range such as `0x400-0x4FF`. */
export type StatusSettings = {
  statusFinal: readonly (number | string)[];
  statusTransient: readonly (number | string)[];
  statusThrottle: readonly (number | string)[];
};

/** The form of a range in the settings. */
export const STATUS_RANGE = "^(0x[0-9A-Fa-f]{1,8}|\\d{1,10})(-(0x[0-9A-Fa-f]{1,8}|\\d{1,10}))?$";

function parseRange(entry: number | string): StatusRange {
  const [first = "", last = first] = String(entry).split("-");
  return [Number(first), Number(last)];
}

const rangesIn = ({ statusFinal, statusTransient, statusThrottle }: StatusSettings): [StatusClass, StatusRange][] => [
  ...statusFinal.map((entry): [StatusClass, StatusRange] => ["final", parseRange(entry)]),
  ...statusTransient.map((entry): [StatusClass, StatusRange] => ["transient", parseRange(entry)]),
  ...statusThrottle.map((entry): [StatusClass, StatusRange] => ["throttle", parseRange(entry)]),
];

/** Returns the faults of the settings: a range that ends before it begins, the status of success, and a status in two lists. */
export function findStatusFaults(settings: StatusSettings): string[] {
  const ranges = rangesIn(settings);
  return ranges.flatMap(([name, [first, last]], index) => {
    const at = `status_${name}: ${statusCode(first)}${first === last ? "" : `-${statusCode(last)}`}`;
    if (last < first) return [`${at}: ends before it begins`];
    if (first === STATUS.ok) return [`${at}: 0x00 is success`];
    const other = ranges.slice(0, index).find(([otherName, [from, to]]) => otherName !== name && from <= last && first <= to);
    return other === undefined ? [] : [`${at}: is in status_${other[0]} as well`];
  });
}

const isIn = (status: number, ranges: readonly StatusRange[]): boolean => ranges.some(([first, last]) => first <= status && status <= last);

export type Refused = Extract<SendOutcome, { kind: "refused" }>;

export type Statuses = ReturnType<typeof statusesOf>;

/** The meanings of the statuses of one link. */
export function statusesOf(settings: StatusSettings) {
  const ranges = rangesIn(settings);
  const classOf = (status: number): StatusClass => {
    const own = ranges.find(([, range]) => isIn(status, [range]));
    if (own !== undefined) return own[0];
    return isIn(status, THROTTLE) ? "throttle" : isIn(status, FINAL) ? "final" : "transient";
  };
  /** The refusal of any status that is neither success nor throttling. */
  const toRefusal = (status: number): Refused => {
    const isPermanent = classOf(status) === "final";
    const refusal = isPermanent ? (REFUSALS[status] ?? REFUSED) : TRANSIENT_REFUSAL;
    return { kind: "refused", ...refusal, providerCode: statusCode(status), isPermanent };
  };
  return { classOf, toRefusal };
}
