/** The parts of packages without types that the build uses. */

declare module "@11ty/eleventy" {
  type PageInput = { page: { fileSlug: string } };
  export type EleventyConfig = {
    ignores: Set<string>;
    setTemplateFormats(formats: string): void;
    setIncludesDirectory(path: string): void;
    setUseGitIgnore(isUsed: boolean): void;
    addPlugin(plugin: unknown): void;
    amendLibrary(format: string, amend: (library: never) => void): void;
    addFilter(name: string, filter: (text: string) => unknown): void;
    addGlobalData(name: string, value: unknown): void;
    addTemplate(path: string, content: string | (() => string), data: object): void;
    addTransform(name: string, transform: (this: PageInput, content: string) => string): void;
  };
  export default class Eleventy {
    constructor(input: string, output: string, options: { quietMode: boolean; config(eleventyConfig: EleventyConfig): void });
    disableLogger(): void;
    write(): Promise<unknown>;
  }
}

declare module "@11ty/eleventy-plugin-syntaxhighlight" {
  const plugin: unknown;
  export default plugin;
}
