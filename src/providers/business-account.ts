/** The contract of a business account: the account at a carrier that owns templates and has them reviewed. A client knows neither our
 *  tables nor which of our accounts a template belongs to. */

export type TemplateCategory = "authentication" | "utility" | "marketing";

export type ReviewableButton = {
  type: "quick_reply" | "url" | "phone_number";
  text: string;
  url: string | null;
  phone_number: string | null;
};

/** The content of a template in our form: a variable with the same name in several components is one variable. */
export type ReviewableContent = {
  category: TemplateCategory;
  body: string;
  header: string | null;
  /** The kind of a file above the text, in place of `header`. */
  headerMedia?: "image" | "video" | "document" | null;
  footer: string | null;
  buttons: readonly ReviewableButton[] | null;
  /** An example for each variable, which the carrier's reviewers require. */
  examples: Readonly<Record<string, string>>;
};

export type ReviewableTemplate = ReviewableContent & {
  name: string;
  /** BCP 47. */
  language: string;
};

/** `pending`: the carrier has not decided yet. `deleted`: the carrier has deleted the template, or is about to. */
export type CarrierTemplateStatus = "pending" | "approved" | "rejected" | "paused" | "deleted";

export type CarrierTemplate = {
  id: string;
  name: string;
  /** The carrier's code for the language. */
  code: string;
  status: CarrierTemplateStatus;
  reason: string | null;
  /** The content in our form; undefined if our form cannot express it, such as a picture or an unknown language. */
  template: ReviewableTemplate | undefined;
};

/** A failure of the whole account. It says nothing about a template. */
export type AccountFailure =
  /** No response, or an unreadable one. */
  | { kind: "unavailable"; reason: string }
  | { kind: "throttled"; reason: string; retryAfterMs: number | null }
  /** The account or its credentials: the carrier accepts nothing until a person acts. */
  | { kind: "blocked"; reason: string };

/** `isComplete`: the list has every template of the account; a template that is not listed does not exist. */
type TemplateList = { kind: "listed"; templates: readonly CarrierTemplate[]; isComplete: boolean };
type SubmitResult =
  | { kind: "submitted"; id: string; status: CarrierTemplateStatus }
  /** The carrier has a template with this name and language by now: the next list shows it. */
  | { kind: "exists" }
  /** A permanent refusal, with a reason for the author of the template. */
  | { kind: "refused"; reason: string };
type RemoveResult = { kind: "removed" } | { kind: "refused"; reason: string };

/** Every call ends within seconds, or soon after `signal` is aborted, and never rejects. */
export type BusinessAccountClient = {
  readonly languageCode: (language: string) => string;
  /** Whether the two contents are the same for the carrier's review. */
  readonly isSame: (ours: ReviewableContent, theirs: ReviewableContent) => boolean;
  list(signal: AbortSignal): Promise<TemplateList | AccountFailure>;
  /** Submits a new template, or a new content of the template `before`. */
  submit(template: ReviewableTemplate, before: CarrierTemplate | undefined, signal: AbortSignal): Promise<SubmitResult | AccountFailure>;
  remove(template: { id: string; name: string }, signal: AbortSignal): Promise<RemoveResult | AccountFailure>;
  close(): Promise<void>;
};

/** A carrier's notification about the review of a template. */
export type ReviewUpdate = {
  /** The name that `businessAccountName` returns. */
  account: string;
  name: string;
  /** The carrier's code for the language. Name and code together identify a template of the account. */
  code: string;
  /** Null: the template changed in a way that only a sync can determine. */
  status: CarrierTemplateStatus | null;
  reason: string | null;
  /** The time of the decision; null if the carrier does not report it. */
  atMs: number | null;
};
