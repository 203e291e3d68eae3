/** Languages as WhatsApp writes them: `en-US` is `en_US` there. */

/** WhatsApp's code for a BCP 47 tag. The code has no script. The script of Chinese selects the region, since WhatsApp has no code for
 *  Chinese without a region. */
export function languageCode(language: string): string {
  const [code = "", ...rest] = language.split(/[-_]/);
  const isChinese = code.toLowerCase() === "zh";
  const region = rest.find((part) => /^([a-z]{2}|\d{3})$/i.test(part)) ?? (isChinese ? chineseRegion(rest) : undefined);
  return region === undefined ? code.toLowerCase() : `${code.toLowerCase()}_${region.toUpperCase()}`;
}

const chineseRegion = (parts: readonly string[]): string => (parts.some((part) => part.toLowerCase() === "hant") ? "TW" : "CN");

/** The BCP 47 tag of a code; undefined if no tag has this code. */
export function languageTag(code: string): string | undefined {
  try {
    const [tag] = Intl.getCanonicalLocales(code.replaceAll("_", "-"));
    return tag !== undefined && languageCode(tag) === code ? tag : undefined;
  } catch {
    return undefined;
  }
}
