// A list of message IDs that a person wrote or exported, one a line. Pure.

import { WHY_UNUSABLE, whyUnusable } from '../core/message-id.ts'

interface Line {
  readonly text: string
  readonly number: number
}

export interface IdListHow {
  /** Lines are IDs as they are: blanks around them, quotes and separators belong to them. @defaultValue false */
  readonly isRaw?: boolean
}

const PLAIN = 'expected one message ID a line, without quotes, heading or other columns'

/** The IDs, each once, in their order. Text: why it is no such list. Blanks around a line, blank lines, CRLF and a byte order mark do not count. */
export function idsIn(text: string, { isRaw = false }: IdListHow = {}): readonly string[] | string {
  const lines = text
    .replace(/^\uFEFF/, '')
    .split(isRaw ? /\r?\n/ : /\r\n|\n|\r/)
    .map((line, at): Line => ({ text: isRaw ? line : line.trim(), number: at + 1 }))
    .filter((line) => line.text !== '')
  if (lines.length === 0) return 'expected at least one message ID, got none'
  const format = isRaw ? undefined : otherFormat(lines)
  if (format !== undefined) return `${format}: ${PLAIN}; if its lines are IDs as they are, say --raw-ids`
  for (const { text: id, number } of lines) {
    const why = whyUnusable(id)
    if (why !== undefined) return `line ${number}: ${WHY_UNUSABLE[why]}`
  }
  return [...new Set(lines.map((line) => line.text))]
}

const SEPARATORS = [
  [',', 'a comma'],
  [';', 'a semicolon'],
  ['|', 'a vertical bar'],
] as const

const HEADING = /^(?:(?:message|msg|order|notification|event)?[-_ .]?ids?|keys?|u?guids?|uuids?)$/i

/** What it looks like instead; `undefined`: nothing else. */
function otherFormat(lines: readonly Line[]): string | undefined {
  const [first] = lines
  if (isJson(lines.map(({ text }) => text).join('\n'))) return 'looks like JSON'
  for (const { text, number } of lines) {
    if (isJson(text)) return `line ${number} looks like JSON`
    if (/^(["'`]).*\1[,;]?$/s.test(text)) return `line ${number} is in quotes`
    // oxlint-disable-next-line no-control-regex -- that is what they are
    if (/[\u0000-\u001F\u007F]/.test(text)) return `line ${number} has a tab or another control character`
    if (/^[-+=|]{3,}$|^\(\d+ rows?\)$/.test(text)) return `line ${number} looks like the table of a database client`
  }
  for (const [separator, name] of SEPARATORS) {
    if (lines.every(({ text }) => text.includes(separator))) return `looks like a table: every line has ${name}`
  }
  return lines.length > 1 && first !== undefined && HEADING.test(first.text)
    ? `line ${first.number} looks like a heading`
    : undefined
}

function isJson(text: string): boolean {
  if (!/^[[{]/.test(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
