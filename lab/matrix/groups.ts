import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { VERSIONS } from '../../test/kit/servers/versions.ts'
import { embeddedPostgres, serverOf, thisProcess, type Target } from './targets.ts'

/** The test files of one kind of store, and all that they are to run on. */
export interface Group {
  readonly name: string
  readonly title: string
  /** Matches the paths of its test files, from the root of the repository. */
  readonly files: RegExp
  /** Matches the devDependencies whose versions matter. */
  readonly clients: RegExp
  readonly targets: readonly Target[]
  /** For people: versions that are in use and not here, and why. */
  readonly missing?: string
}

/** Found by their folder, so that a new file, and a new client, is taken up by being there. */
export const GROUPS: readonly Group[] = [
  {
    name: 'redis',
    title: 'Redis and Valkey',
    files: /^(?:test(?:\/unit)?|lab)\/redis\/.*\.test\.ts$/,
    clients: /^(@valkey\/|ioredis|iovalkey|redis)/,
    targets: VERSIONS.redis.known.map((version) => serverOf('redis', version)),
  },
  {
    name: 'postgres',
    title: 'PostgreSQL',
    files: /^(?:(?:test(?:\/unit)?|lab)\/pg\/(?!pglite-).*|examples\/orm\/test\/orm-(?!mysql).*)\.test\.ts$/,
    clients: /^(pg|postgres|drizzle-orm|knex|kysely|@prisma\/client|typeorm)(-|$)/,
    targets: VERSIONS.postgres.known.map((version) => serverOf('postgres', version)),
  },
  {
    name: 'mariadb',
    title: 'MariaDB and MySQL',
    files: /^(?:(?:test(?:\/unit)?|lab)\/mysql\/.*|examples\/orm\/test\/orm-mysql)\.test\.ts$/,
    clients: /^(mariadb|mysql2?)(-|$)/,
    targets: VERSIONS.mariadb.known.map((version) => serverOf('mariadb', version)),
    missing:
      'Not tested: MySQL 8.4 and 8.0. The servers come from Debian, and no suite of it has them (sid has 9.7, looked up on 2026-11-26).',
  },
  {
    name: 'pglite',
    title: 'PGlite',
    files: /^(?:test|lab)\/pg\/pglite-.*\.test\.ts$/,
    clients: /^@electric-sql\/pglite$/,
    targets: [embeddedPostgres()],
  },
  {
    name: 'several',
    title: 'Several stores at once, on what is there',
    files: /^(?:test(?:\/unit)?|lab)\/stores\/.*\.test\.ts$/,
    clients: /^lru-cache$/,
    targets: [thisProcess()],
  },
  {
    name: 'memory',
    title: 'Memory, and the laws that every store is held to',
    files: /^(?:test|lab)\/contract\/.*\.test\.ts$/,
    clients: /^$/,
    targets: [thisProcess()],
  },
]

/** Its test files that are there. */
export function filesOf({ files }: Pick<Group, 'files'>, all: readonly string[] = testFiles()): readonly string[] {
  return all.filter((file) => files.test(file)).toSorted()
}

function testFiles(): readonly string[] {
  return ['test', 'lab', 'examples/orm/test'].flatMap((tree) =>
    readdirSync(tree, { recursive: true, encoding: 'utf8' }).map((file) => join(tree, file)),
  )
}
