/** Pages that tell what the commands print. */
export const TOLD = ['docs/replay.md', 'README.md'] as const

export const STORIES_TOLD = ['missed', 'provider', 'bug', 'backup', 'renamed'] as const
export type StoryName = (typeof STORIES_TOLD)[number]

/** A command as it is shown, with what it is said to print. */
export interface Step {
  readonly command: string
  readonly told: string
}

export const SECTION: RegExp = /<!-- incident: (\w+) -->\n([\s\S]*?)(?=\n## |$(?![\s\S]))/g

/** The text of a page from `<!-- incident: NAME -->` to the next heading. */
export function sectionsOf(page: string): ReadonlyMap<StoryName, string> {
  return new Map([...page.matchAll(SECTION)].map(([, name = '', text = '']) => [storyNamed(name), text]))
}

function storyNamed(name: string): StoryName {
  const found = STORIES_TOLD.find((one) => one === name)
  if (found === undefined) throw new Error(`incident: expected one of ${STORIES_TOLD.join(', ')}, got ${name}`)
  return found
}

export function stepsOf(section: string): readonly Step[] {
  return [...section.matchAll(/```console\n([\s\S]*?)```/g)].flatMap(([, block = '']) =>
    block
      .split(/^(?=\$ )/m)
      .filter((shown) => shown !== '')
      .map((shown) => {
        const [command = '', ...lines] = shown.split('\n')
        return { command: command.replace('$ consume-once ', ''), told: lines.join('\n') }
      }),
  )
}
