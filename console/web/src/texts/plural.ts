// Forms are the texts for each plural form that a language has; # stands for the number.
export type Forms = { [form in Intl.LDMLPluralRule]?: string } & { other: string };

// counting returns what puts a number into the right form of a language.
export function counting(language: string) {
  const rules = new Intl.PluralRules(language);
  const format = new Intl.NumberFormat(language);
  return (n: number, forms: Forms) => (forms[rules.select(n)] ?? forms.other).replace("#", format.format(n));
}
