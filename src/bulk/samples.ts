/** The messages that the service validates before a send: their texts, links, prices and faults. */
import type { BulkPreview } from "./preview.ts";
import { toSampleMessage } from "./read-rows.ts";
import type { BulkSettings, ValidRow } from "./rows.ts";

/** The part of a validation that the preview needs. */
export type SampleValidation = {
  valid: boolean;
  body: string | null;
  segments: { count: number } | null;
  route: { link: string; links: readonly { link: string; price: number | null }[] | null } | null;
  errors: readonly { pointer: string; code: string; detail: string }[];
};
export type Sample = { row: ValidRow; validation: SampleValidation };

/** The samples that the service would refuse. */
export const countRefused = (samples: readonly Sample[]): number => samples.filter(({ validation }) => !validation.valid).length;

/** Validates the samples of a preview, one after the other. */
export async function validateSamples(
  preview: BulkPreview,
  settings: BulkSettings,
  validate: (message: Record<string, unknown>) => PromiseLike<SampleValidation>,
): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (const row of preview.samples()) samples.push({ row, validation: await validate(toSampleMessage(row, settings)) });
  return samples;
}

/** The cost by the prices of the links, where a route chooses by price or quality and its links have prices. */
export function estimateCost(preview: BulkPreview, samples: readonly Sample[]): { cost: number; unpricedRows: number } | undefined {
  const prices = new Map(samples.map(({ row, validation: { route } }) => [row, priceOf(route)]));
  return preview.estimate((row) => prices.get(row) ?? null);
}

const priceOf = (route: SampleValidation["route"]): number | null => route?.links?.find(({ link }) => link === route.link)?.price ?? null;
