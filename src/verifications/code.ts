/** Creates, hashes and compares codes. */
import { randomInt } from "node:crypto";
import type { VerificationId } from "../model/id.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { uuidToText } from "../lib/uuid.ts";
import type { Content } from "../messages/message.ts";
import type { Environment } from "../model/owner.ts";

export const MIN_LENGTH = 4;
export const MAX_LENGTH = 10;

/** The code in `test` is always the same, so that an application can be tested. */
const TEST_CODE = "1234567890";

export const newCode = (environment: Environment, length: number): string =>
  environment === "test" ? TEST_CODE.slice(0, length) : Array.from({ length }, () => randomInt(10)).join("");

const sealPurpose = (id: VerificationId): string => `verification ${uuidToText(id)}`;

/** Hashes a code with a key and for only this verification. A plain hash could be reversed, because there are few codes. */
export const hashCode = (box: SecretBox, id: VerificationId, code: string): Buffer => box.mac(code, sealPurpose(id));
export const isCode = (box: SecretBox, id: VerificationId, code: string, hash: Buffer): boolean => box.isMac(hash, code, sealPurpose(id));

/** Masks the code in the content that the record shows. */
export const concealing =
  (code: string) =>
  ({ body, template }: Content): Content => {
    const hide = (text: string): string => text.replaceAll(code, "*".repeat(code.length));
    const variables = Object.fromEntries(Object.entries(template?.variables ?? {}).map(([name, value]) => [name, hide(value)]));
    return { body: hide(body), template: template && { ...template, variables } };
  };
