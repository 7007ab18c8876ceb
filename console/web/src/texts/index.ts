// The texts of the pages, in the language that the browser asks for, or in English.
import { de } from "./de";
import { en } from "./en";

export type Texts = typeof en;

// A new language is a file with a value of this type, and a line here.
const languages: Record<string, Texts> = { de, en };

const baseOf = (tag: string) => tag.toLowerCase().split("-")[0];
const asked = navigator.languages.find((tag) => baseOf(tag) in languages) ?? "en";

// locale is the language with the region that the browser asks for, such as en-GB: times and
// numbers follow it.
export const locale = asked;
export const t = languages[baseOf(asked)];
document.documentElement.lang = baseOf(asked);
