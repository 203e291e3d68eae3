/** The contract of a desk: where a carrier that reviews templates takes them, and says what it made of them. It knows neither our
 *  tables nor whose a template is. */

export type TemplateCategory = "authentication" | "utility" | "marketing";

export type ReviewableButton = {
  type: "quick_reply" | "url" | "phone_number";
  text: string;
  url: string | null;
  phone_number: string | null;
};

/** What a template says, in our words: a variable is the same one wherever its name stands. */
export type ReviewableContent = {
  category: TemplateCategory;
  body: string;
  header: string | null;
  footer: string | null;
  buttons: readonly ReviewableButton[] | null;
  /** By variable; a carrier's reviewers want to see one. */
  examples: Readonly<Record<string, string>>;
};

export type ReviewableTemplate = ReviewableContent & {
  name: string;
  /** BCP 47. */
  language: string;
};

/** `pending`: nobody has decided yet. `deleted`: it is gone, or on its way. */
export type CarrierTemplateStatus = "pending" | "approved" | "rejected" | "paused" | "deleted";

/** A template as the carrier has it. */
export type CarrierTemplate = {
  id: string;
  name: string;
  /** In the carrier's own words. */
  code: string;
  status: CarrierTemplateStatus;
  reason: string | null;
  /** In our words; undefined where they cannot say it: pictures, languages that are not ours. */
  template: ReviewableTemplate | undefined;
};

/** What keeps a desk from its work. None of it says anything about a template. */
export type AccountFailure =
  /** No answer, or none that can be read. */
  | { kind: "unavailable"; reason: string }
  | { kind: "throttled"; reason: string; retryAfterMs: number | null }
  /** Account or credentials: nothing is taken until a person has acted. */
  | { kind: "blocked"; reason: string };

/** `isComplete`: nothing was left out; what is not among them is not there. */
export type TemplateList = { kind: "listed"; templates: readonly CarrierTemplate[]; isComplete: boolean };
export type SubmitResult =
  | { kind: "submitted"; id: string; status: CarrierTemplateStatus }
  /** The carrier has one of this name and language by now: the next list shows it. */
  | { kind: "exists" }
  /** For good, in words for whoever wrote it. */
  | { kind: "refused"; reason: string };
export type RemoveResult = { kind: "removed" } | { kind: "refused"; reason: string };

/** Every call ends within seconds, or soon after `signal` is aborted, and never rejects. */
export type BusinessAccountClient = {
  /** The carrier's word for a language. */
  readonly languageCode: (language: string) => string;
  /** Whether the carrier would have nothing new to look at. */
  readonly isSame: (ours: ReviewableContent, theirs: ReviewableContent) => boolean;
  list(signal: AbortSignal): Promise<TemplateList | AccountFailure>;
  /** In place of one that the carrier has, where it is given. */
  submit(template: ReviewableTemplate, before: CarrierTemplate | undefined, signal: AbortSignal): Promise<SubmitResult | AccountFailure>;
  remove(template: { id: string; name: string }, signal: AbortSignal): Promise<RemoveResult | AccountFailure>;
  close(): Promise<void>;
};

/** What a carrier tells of a template by itself. */
export type ReviewUpdate = {
  /** As `businessAccountName` names it. */
  account: string;
  /** With the name, this tells it from all others of the account. */
  name: string;
  code: string;
  /** Null: something happened to it, and what has to be asked. */
  status: CarrierTemplateStatus | null;
  reason: string | null;
  /** When the carrier decided; null where it does not say. */
  atMs: number | null;
};
