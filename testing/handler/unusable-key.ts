/** What a template makes of a value that is not there; `null` and `NaN` between the marks that join the parts of keys. */
const NOT_THERE = /undefined|\[object \w+\]|(?<![^-_.:/|#])(?:null|NaN)(?![^-_.:/|#])/

/**
 * Whether a key is one of any message: it was made of a field that is not there.
 *
 * @param message - its payload, which may have such a word
 */
export function isOfNoMessage(key: unknown, message: string): boolean {
  if (key === undefined || key === null || Number.isNaN(key)) return true
  if (typeof key !== 'string') return false
  if (key.trim() === '') return true
  const [word] = NOT_THERE.exec(key) ?? []
  if (word === undefined || message.includes(JSON.stringify(key))) return false
  // JSON of a message that has no name has `null`.
  return word === 'null' || !message.includes(word)
}

export function keyShown(key: unknown): string {
  return typeof key === 'string' ? JSON.stringify(key) : String(key)
}
