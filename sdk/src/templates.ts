/** `/v1/templates`. */
import type { Call } from "./answer.ts";
import type { CallOptions, QueryOf, WriteOptions } from "./operation.ts";
import { listPages, type PagesOf } from "./pages.ts";
import type { EditTemplate, NewTemplate, PreviewTemplate, Template, TemplatePreview } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class Templates {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  create(template: NewTemplate, options?: WriteOptions): Call<Template> {
    return this.#transport.call("post_templates", { body: template }, options);
  }

  /** By its id or its name. */
  get(id: string, options?: CallOptions): Call<Template> {
    return this.#transport.call("get_templates_id", { path: { id } }, options);
  }

  /** Newest first, without archived ones unless they are asked for. */
  list(query?: QueryOf<"get_templates">, options?: CallOptions): PagesOf<"get_templates"> {
    return listPages(this.#transport, "get_templates", { query }, options);
  }

  /** A change of its text makes a new version, which is reviewed again. */
  edit(id: string, changes: EditTemplate, options?: WriteOptions): Call<Template> {
    return this.#transport.call("patch_templates_id", { path: { id }, body: changes }, options);
  }

  /** It can no longer be sent, and its name is free. */
  archive(id: string, options?: CallOptions): Call<Template> {
    return this.#transport.call("delete_templates_id", { path: { id } }, options);
  }

  /** What would be sent; without variables, with its examples. */
  preview(id: string, preview: PreviewTemplate = {}, options?: WriteOptions): Call<TemplatePreview> {
    return this.#transport.call("post_templates_id_preview", { path: { id }, body: preview }, options);
  }
}
