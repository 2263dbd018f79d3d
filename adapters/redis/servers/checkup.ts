import { checkFindings, type AtStart, type CheckFinding } from '../../../src/internal.ts'
import type { Durability } from '../calls/durability.ts'
import type { RedisPort } from '../clients/redis-port.ts'
import { evicts, factsOf, whyNoFsync, type ServerFacts } from './server-facts.ts'

const AT_START = {
  mode: 'refused',
  'append-only-file fsync': 'refused',
  role: {
    startsBecause:
      'A failover makes a primary of a replica and the reverse: the consumer pauses until claims are taken.',
  },
  eviction: { startsBecause: 'The server may never be full: the start warns.' },
  'append-only-file unwritable': {
    startsBecause: 'The server refuses claims until its disk is mended: the consumer pauses until then.',
  },
  'append-only-file absent': {
    startsBecause:
      'Nothing is lost before the server restarts, and servers for tests and development are set so on purpose.',
  },
  replicas: { startsBecause: 'Replicas come back: the consumer pauses until then.' },
  claim: 'refused',
} as const satisfies Record<string, AtStart>

/** How a server of Redis writes snapshots where nobody says it. */
const DEFAULT_SAVE = '3600 1 300 100 60 10000'

const { holds, weaker, weakerByDefault, unknown, broken } = checkFindings('redis', AT_START)

/** Reads how durable marks are on each primary. */
export async function checkup(redis: RedisPort, durability: Durability): Promise<readonly CheckFinding[]> {
  const servers = await Promise.all((await redis.nodes()).map(factsOf))
  return servers.flatMap((server) => {
    const findings = findingsOf(server, redis.isCluster, durability)
    return redis.isCluster ? findings.map((one) => ({ ...one, found: `${server.name}: ${one.found}` })) : findings
  })
}

/**
 * Whether a claim is taken: only a real one shows that, such as that the server is full. `tryOut` claims keys of nobody, which
 * expire by themselves; `why` explains its error. A refusal that `others` explain is not told twice.
 */
export async function checkClaim(
  tryOut: () => Promise<void>,
  why: (error: unknown) => string,
  others: readonly CheckFinding[],
): Promise<readonly CheckFinding[]> {
  try {
    await tryOut()
    return [holds('claim', 'a claim was taken, of a key that expires')]
  } catch (error) {
    if (others.some(({ verdict }) => verdict === 'broken')) return []
    return [broken('claim', 'a claim was refused', why(error))]
  }
}

type Info = NonNullable<ServerFacts['info']>

function findingsOf(server: ServerFacts, isCluster: boolean, durability: Durability): readonly CheckFinding[] {
  const { info } = server
  if (info === undefined) {
    const meaning = 'Nothing is known of eviction, files and replicas: allow INFO to its user, or look at them by hand.'
    return [unknown('info', 'INFO is forbidden', meaning)]
  }
  return [
    ofMode(info, isCluster),
    ofRole(info),
    ofEviction(info),
    ofEvicted(info),
    ofFile(info, server, durability),
    ofReplicas(info, durability),
  ]
}

function ofMode(info: Info, isCluster: boolean): CheckFinding {
  const isNode = info.get('cluster_enabled') === '1'
  const found = isNode ? 'a node of a cluster' : 'a server by itself'
  if (!isNode || isCluster) return holds('mode', found)
  const meaning =
    'Its client knows of no other node, so most calls are refused: give the store the client of a cluster.'
  return broken('mode', found, meaning)
}

function ofRole(info: Info): CheckFinding {
  const role = info.get('role') ?? 'unknown'
  if (role === 'master') return holds('role', `role ${role}`)
  const meaning =
    'A replica refuses every claim and mark, so that consumers stand still: give the store a client of its primary.'
  return broken('role', `role ${role}`, meaning)
}

function ofEviction(info: Info): CheckFinding {
  const policy = info.get('maxmemory_policy')
  const check = 'eviction'
  if (policy === undefined) {
    const meaning =
      'Whether marks are dropped when the server is full is not told: see that maxmemory-policy is noeviction.'
    return unknown(check, 'no maxmemory-policy in INFO', meaning)
  }
  const found = `maxmemory-policy ${policy}, maxmemory ${info.get('maxmemory') ?? 'unknown'}`
  if (policy === 'noeviction') return holds(check, found)
  if (evicts(info)) {
    const meaning =
      'A full server drops marks without an error, and their messages run again: set maxmemory-policy noeviction.'
    return broken(check, found, meaning)
  }
  const meaning =
    'As soon as somebody sets maxmemory, a full server drops marks without an error: set maxmemory-policy noeviction.'
  return weaker(check, found, meaning)
}

function ofEvicted(info: Info): CheckFinding {
  const keys = info.get('evicted_keys') ?? '0'
  if (keys === '0') return holds('evicted', 'evicted_keys 0')
  const meaning =
    'The server has dropped this many keys since its start. Marks may be among them; their messages run again.'
  return weaker('evicted', `evicted_keys ${keys}`, meaning)
}

function ofFile(info: Info, server: ServerFacts, durability: Durability): CheckFinding {
  const check = 'append-only-file'
  const { appendfsync } = server
  const isWritten = info.get('aof_enabled') === '1'
  const found = isWritten ? `appendonly yes, appendfsync ${appendfsync ?? 'unknown'}` : 'appendonly no'
  if (info.get('aof_last_write_status') === 'err') {
    const meaning = 'Its file cannot be written, so that it refuses every claim and mark: see to its disk.'
    return broken('append-only-file unwritable', `${found}, aof_last_write_status err`, meaning)
  }
  const whyNot = durability.kind === 'fsync' ? whyNoFsync(server) : undefined
  if (whyNot !== undefined) {
    return broken(
      'append-only-file fsync',
      found,
      `Marks are not known to be on its disk when they are answered: ${whyNot}.`,
    )
  }
  if (!isWritten) return ofSnapshots(server.save)
  if (appendfsync === 'always' || durability.kind === 'fsync') return holds(check, found)
  if (appendfsync === undefined) {
    const meaning =
      'CONFIG is forbidden, so how much a loss of power forgets is not known: see that appendfsync is not no.'
    return unknown(check, found, meaning)
  }
  const lost =
    appendfsync === 'everysec' ? 'the last second or two of marks' : 'whatever the system had not written yet'
  return weaker(check, found, `A loss of power forgets ${lost}; a crash of the server alone forgets none.`)
}

/** Used when snapshots are the only thing that reaches the disk. */
function ofSnapshots(save: string | undefined): CheckFinding {
  const check = 'append-only-file'
  if (save === undefined) {
    const meaning =
      'CONFIG is forbidden, so whether any mark outlives a restart is not known; a crash forgets at least those since the last snapshot: set appendonly yes.'
    return unknown(check, 'appendonly no, save unknown', meaning)
  }
  if (save === '') {
    const meaning =
      'The server writes nothing to disk: a restart forgets every mark, and all messages run again: set appendonly yes.'
    return broken('append-only-file absent', 'appendonly no, save ""', meaning)
  }
  const meaning = 'A crash of the server forgets what was marked since its last snapshot: set appendonly yes.'
  return (save === DEFAULT_SAVE ? weakerByDefault : weaker)(check, `appendonly no, save "${save}"`, meaning)
}

function ofReplicas(info: Info, durability: Durability): CheckFinding {
  const check = 'replicas'
  const online = replicasOnline(info)
  const waitedFor = durability.kind === 'memory' ? 0 : durability.replicas
  const found = `${online} replicas online, marks wait for ${waitedFor}`
  if (online < waitedFor) {
    const meaning =
      'No mark can reach as many replicas as it waits for, so that consumers stand still: see to the replicas.'
    return broken(check, found, meaning)
  }
  if (online === waitedFor) return holds(check, found)
  const meaning = `A failover to a replica that was not waited for forgets the last marks: durability 'replicas' with replicas ${online} waits for all.`
  return weaker(check, found, meaning)
}

/** Number of replicas that the primary reports as online. */
function replicasOnline(info: Info): number {
  return [...info].filter(([name, value]) => /^slave\d+$/.test(name) && value.includes('state=online')).length
}
