/** User and password of a URL; a password or token behind its name. */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [/(?<=:\/\/)[^/\s@]*@/g, '***@'],
  [/\b(password|passwd|pwd|secret|token|sasl\.jaas\.config)(["']?\s*[=:]\s*)("[^"]*"|'[^']*'|\S+)/gi, '$1$2***'],
]

/** Errors of clients may quote what they were given. */
export function withoutSecrets(text: string): string {
  return SECRETS.reduce((cleaned, [pattern, instead]) => cleaned.replaceAll(pattern, instead), text)
}
