/**
 * User and password of a URL; a password or token after its name; the arguments that Redis quotes for an unknown
 * command.
 */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  // Up to the last @: a password may contain one.
  [/(?<=:\/\/)[^\s"'`<>]*@/g, '***@'],
  // Not `(using password: YES)` of MariaDB and MySQL, nor `password: expected …` of the checks of options.
  [
    /\b(?!password: (?:(?:YES|NO)\)|expected ))(password|passwd|pwd|secret|token|sasl\.jaas\.config)(["']?\s*[=:]\s*)("[^"]*"|'[^']*'|\S+)/gi,
    '$1$2***',
  ],
  [/(with args beginning with:).*/gis, '$1 ***'],
]

/** Errors of clients may quote their arguments. */
export function withoutSecrets(text: string): string {
  return SECRETS.reduce((cleaned, [pattern, instead]) => cleaned.replaceAll(pattern, instead), text)
}
