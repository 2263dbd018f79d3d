/** Links and headings of Markdown, as GitHub reads them. */

const FENCE = /^(?<fence>```+|~~~+)[\s\S]*?^\k<fence>$/gm
const COMMENT = /<!--[\s\S]*?-->/g
const LINK = /(?<=\]\()(?<target>[^)\s]+)(?=\))/g

/** The anchor of a heading on GitHub: https://github.com/gjtorikian/html-pipeline/blob/main/lib/html_pipeline/node_filter/table_of_contents_filter.rb */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-')
}

/** Anchors of a page; a repeated heading gets `-1`, `-2`. */
export function anchorsOf(markdown: string): ReadonlySet<string> {
  const anchors = new Set<string>()
  for (const [, text = ''] of proseOf(markdown).matchAll(/^#{1,6} +(.+?) *$/gm)) {
    const anchor = anchorOf(text.replace(/\[(.*?)\]\(.*?\)/g, '$1').replaceAll(/[`*]/g, ''))
    let unique = anchor
    for (let n = 1; anchors.has(unique); n++) unique = `${anchor}-${n}`
    anchors.add(unique)
  }
  return anchors
}

/** Targets of links and images, without those to other hosts. */
export function linksOf(markdown: string): readonly string[] {
  const text = proseOf(markdown).replace(/`[^`\n]*`/g, (code) => (code.includes('](') ? '' : code))
  return [...text.matchAll(LINK)].map(([target]) => target).filter((target) => !isExternal(target))
}

/** A link or a picture as a whole. */
const WHOLE = /(?<picture>!?)\[(?<text>(?:[^[\]]|\[[^\]]*\])*)\]\((?<target>[^)\s]+)\)/g

/** A link becomes a text that names where it led. */
export interface AsText {
  readonly names: string
}

/** The page with each link that is not external replaced. Code blocks and comments stay. */
export function withLinks(markdown: string, replace: (target: string) => string | AsText): string {
  const kept: string[] = []
  const hold = (text: string): string => `\u0000${kept.push(text) - 1}\u0000`
  const held = markdown.replace(FENCE, hold).replace(COMMENT, hold)
  const replaced = held.replace(WHOLE, (whole, ...match) => {
    const { picture, text, target } = match.at(-1) as Readonly<Record<'picture' | 'text' | 'target', string>>
    const to = isExternal(target) ? target : replace(target)
    if (typeof to === 'string') return whole.replace(LINK, () => to)
    return picture === '' ? `${text} (${to.names})` : `(${to.names}: ${text})`
  })
  // eslint-disable-next-line no-control-regex
  return replaced.replace(/\u0000(\d+)\u0000/g, (_, index: string) => kept[Number(index)] ?? '')
}

function isExternal(target: string): boolean {
  return /^[a-z]+:/.test(target)
}

const TABS = /<!-- tabs -->\n(?<inside>[\s\S]*?)<!-- \/tabs -->/g
const TAB = /^\*\*(?<label>[^\n]+?)\*\*\n\n(?:<!-- [^\n]* -->\n\n)?```(?<language>\w*)\n(?<code>[\s\S]*?)^```$/gm

/**
 * The page with each region between `<!-- tabs -->` and `<!-- /tabs -->` as a code group of VitePress. In the page a tab is a label in
 * bold and the block below it, so that it can be read where there are no tabs.
 */
export function withTabs(markdown: string): string {
  return markdown.replace(TABS, (...match) => {
    const { inside } = match.at(-1) as { readonly inside: string }
    const tabs = [...inside.matchAll(TAB)].map(({ groups = {} }) => groups)
    const blocks = tabs.map(({ label, language, code }) => `\`\`\`${language} [${label}]\n${code}\`\`\``)
    return `::: code-group\n\n${blocks.join('\n\n')}\n\n:::`
  })
}

/** The page without code blocks and comments. */
export function proseOf(markdown: string): string {
  return markdown.replace(FENCE, '').replace(COMMENT, '')
}
