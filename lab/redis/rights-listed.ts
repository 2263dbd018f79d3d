import { readFileSync } from 'node:fs'

const PAGE = 'docs/redis.md'
const FOR = {
  consumers: ['consumers'],
  durability: ['`durability'],
  checks: ['the checks'],
  people: ['people: decisions', 'people: replays'],
  cluster: ['the client of a cluster'],
} as const

/** The rights of the page, by what they are for. */
export function rightsListed(): Readonly<Record<keyof typeof FOR, readonly string[]>> {
  const [, section = ''] = /^## Rights\n([\s\S]*?)^## /m.exec(readFileSync(PAGE, 'utf8')) ?? []
  const rows = [...section.matchAll(/^\| (.*?) +\| (.*?) +\|$/gm)]
  const rightsFor = (what: string): readonly string[] => {
    const [, , listed = ''] = rows.find(([, name = '']) => name.startsWith(what)) ?? []
    const found = listed.replaceAll('\\|', '|').match(/[+][a-z|]+/g)
    if (found === null) throw new Error(`${PAGE} lists no rights for ${what}`)
    return found
  }
  const { consumers, durability, checks, people, cluster } = FOR
  return {
    consumers: consumers.flatMap(rightsFor),
    durability: durability.flatMap(rightsFor),
    checks: checks.flatMap(rightsFor),
    people: people.flatMap(rightsFor),
    cluster: cluster.flatMap(rightsFor),
  }
}
