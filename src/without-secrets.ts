/** User and password of a URL; a password or token behind its name; what Redis quotes of a command that it does not know. */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  // To the last @: a password may hold one.
  [/(?<=:\/\/)[^\s"'`<>]*@/g, '***@'],
  [/\b(password|passwd|pwd|secret|token|sasl\.jaas\.config)(["']?\s*[=:]\s*)("[^"]*"|'[^']*'|\S+)/gi, '$1$2***'],
  [/(with args beginning with:).*/gis, '$1 ***'],
]

/** Errors of clients may quote what they were given. */
export function withoutSecrets(text: string): string {
  return SECRETS.reduce((cleaned, [pattern, instead]) => cleaned.replaceAll(pattern, instead), text)
}
