/** True unless the text is blank or has a control character, a direction mark such as U+202E, or a lone surrogate. */
export function isPlainText(text: string): boolean {
  return text.trim() !== '' && text.isWellFormed() && !/[\p{Cc}\p{Bidi_Control}]/u.test(text)
}

/** A value in a problem. Text in quotes, so that `"8"` does not look like `8`; objects may be large, and have secrets. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return shownText(value)
  if (Array.isArray(value)) return value.length === 0 ? 'none' : `a list of ${value.length}`
  if (typeof value === 'function') return 'a function'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}

/** As JSON, with control characters and direction marks escaped, so that a terminal does not act on them. */
export function shownText(value: unknown): string {
  const text = JSON.stringify(value) as string | undefined
  return String(text).replaceAll(
    /[\p{Cc}\p{Bidi_Control}]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
