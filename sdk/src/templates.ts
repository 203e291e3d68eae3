/** Templates: `/v1/templates`. */
import type { CallOptions, QueryOf, WriteOptions } from "./operation.ts";
import { listPages, type PagesOf } from "./pages.ts";
import type { Call } from "./response.ts";
import type { EditTemplate, NewTemplate, PreviewTemplate, Template, TemplatePreview } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class Templates {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates a template. */
  create(template: NewTemplate, options?: WriteOptions): Call<Template> {
    return this.#transport.call("createTemplate", { body: template }, options);
  }

  /** Retrieves a template by its id or name. */
  get(id: string, options?: CallOptions): Call<Template> {
    return this.#transport.call("getTemplate", { path: { id } }, options);
  }

  /** Lists templates, newest first. Archived templates are included only on request. */
  list(query?: QueryOf<"listTemplates">, options?: CallOptions): PagesOf<"listTemplates"> {
    return listPages(this.#transport, "listTemplates", { query }, options);
  }

  /** Changes a template. A change of its text creates a new version, which is reviewed again. */
  edit(id: string, changes: EditTemplate, options?: WriteOptions): Call<Template> {
    return this.#transport.call("updateTemplate", { path: { id }, body: changes }, options);
  }

  /** The same as `edit`. */
  update(...input: Parameters<Templates["edit"]>): Call<Template> {
    return this.edit(...input);
  }

  /** Archives a template. It can no longer be sent, and its name becomes free; messages already sent keep their text. */
  archive(id: string, options?: CallOptions): Call<Template> {
    return this.#transport.call("archiveTemplate", { path: { id } }, options);
  }

  /** The same as `archive`. */
  delete(...input: Parameters<Templates["archive"]>): Call<Template> {
    return this.archive(...input);
  }

  /** Renders a template with the given variables, or with its examples if none are given. Sends nothing. */
  preview(id: string, preview: PreviewTemplate = {}, options?: WriteOptions): Call<TemplatePreview> {
    return this.#transport.call("previewTemplate", { path: { id }, body: preview }, options);
  }
}
