import { proseOf } from './markdown.ts'

/** Longest description: what a search engine shows, and one line of llms.txt. */
const DESCRIPTION_LENGTH = 200

/** What VitePress reads at the top of a page. Values are strings, so that JSON is valid YAML for them. */
export function withFrontMatter(fields: Readonly<Record<string, string | boolean>>, markdown: string): string {
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
  return `---\n${lines.join('\n')}\n---\n\n${markdown}`
}

/** The first sentence of a page, as text: by the style of these pages it says what they are for. */
export function descriptionOf(markdown: string): string | undefined {
  const paragraph = proseOf(markdown)
    .split(/\n{2,}/)
    .map((part) => part.trim())
    .find((part) => /^[\p{L}`*_[]/u.test(part) && !/^\[[^\]]+\]:/.test(part))
  if (paragraph === undefined) return undefined
  const text = paragraph
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*_]+/g, '')
    .replaceAll(/\s+/g, ' ')
  const [sentence = text] = /^.*?[.:?!](?= |$)/.exec(text) ?? []
  return sentence.length > DESCRIPTION_LENGTH
    ? `${sentence.slice(0, sentence.lastIndexOf(' ', DESCRIPTION_LENGTH)).replace(/[,;:]$/, '')} …`
    : sentence.replace(/:$/, '.')
}
