/** Seals content that only the carrier may see, such as a verification code. Sealed content is stored only in the queue entry of its
 *  message and in the steps of its fallback. */
import type { MessageId } from "../model/id.ts";
import { isSealed, type SecretBox } from "../lib/secret-box.ts";
import { uuidToText } from "../lib/uuid.ts";
import type { FallbackStep } from "./fallbacks.ts";
import type { Content } from "./message.ts";

const contentContext = (messageId: MessageId): string => `content ${uuidToText(messageId)}`;
const stepsContext = (messageId: MessageId): string => `fallback ${uuidToText(messageId)}`;

export const sealContent = (box: SecretBox, messageId: MessageId, content: Content): string =>
  box.seal(JSON.stringify(content), contentContext(messageId));

/** Throws if the secret key of the server has changed. */
export const openContent = (box: SecretBox, messageId: MessageId, sealed: string): Content =>
  JSON.parse(box.open(sealed, contentContext(messageId))) as Content;

export const sealSteps = (box: SecretBox, messageId: MessageId, steps: readonly FallbackStep[]): string =>
  box.seal(JSON.stringify(steps), stepsContext(messageId));

export const readSteps = (box: SecretBox, messageId: MessageId, steps: string): FallbackStep[] =>
  JSON.parse(isSealed(steps) ? box.open(steps, stepsContext(messageId)) : steps) as FallbackStep[];
