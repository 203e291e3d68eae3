/** What only the carrier is to see: it lies sealed beside a message that waits to be handed over, and beside the steps of its
 *  fallback, and nowhere else. */
import type { FallbackStep } from "./fallbacks.ts";
import type { MessageId } from "../lib/id.ts";
import { isSealed, type SecretBox } from "../lib/secret-box.ts";
import { uuidToText } from "../lib/uuid.ts";
import type { Content } from "./content.ts";

const contentPlace = (messageId: MessageId): string => `content ${uuidToText(messageId)}`;
const stepsPlace = (messageId: MessageId): string => `fallback ${uuidToText(messageId)}`;

export const sealContent = (box: SecretBox, messageId: MessageId, content: Content): string =>
  box.seal(JSON.stringify(content), contentPlace(messageId));

/** Throws where the server's secret key is another by now. */
export const openContent = (box: SecretBox, messageId: MessageId, sealed: string): Content =>
  JSON.parse(box.open(sealed, contentPlace(messageId))) as Content;

export const sealSteps = (box: SecretBox, messageId: MessageId, steps: readonly FallbackStep[]): string =>
  box.seal(JSON.stringify(steps), stepsPlace(messageId));

export const readSteps = (box: SecretBox, messageId: MessageId, steps: string): FallbackStep[] =>
  JSON.parse(isSealed(steps) ? box.open(steps, stepsPlace(messageId)) : steps) as FallbackStep[];
