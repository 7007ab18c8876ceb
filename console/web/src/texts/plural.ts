// Forms are the texts for each plural form that a language has; # stands for the number.
export type Forms = { [form in Intl.LDMLPluralRule]?: string } & { other: string };

// counting returns what puts a number into the right form of a language.
export function counting(language: string) {
  let rules: Intl.PluralRules | undefined; // made when they are used: that takes its time, and one language is used
  let format: Intl.NumberFormat | undefined;
  return (n: number, forms: Forms) => {
    rules ??= new Intl.PluralRules(language);
    format ??= new Intl.NumberFormat(language);
    return (forms[rules.select(n)] ?? forms.other).replace("#", format.format(n));
  };
}
