import type { PartitionAssigner } from 'kafkajs'
import type { KafkaEvent, Report } from '../report.ts'

/** What a member tells the leader of its group. */
interface Member {
  /** `undefined`: it does not tell. */
  readonly consumer: string | undefined
  /** All that it is to consume, also what is missing just now. */
  readonly topics: readonly string[]
}

interface GroupMember {
  readonly memberId: string
  readonly memberMetadata: Buffer
}

type Kafkajs = Pick<typeof import('kafkajs'), 'AssignerProtocol' | 'PartitionAssigners'>

/** Of the names, or sets of topics, that differ: so many are told, so long. */
const MOST_TOLD = 5
const MOST_CHARACTERS = 300

/**
 * The other members of the group, in whatever process. Each member tells its consumer's name and its topics in the user data of
 * its subscription, and the leader, who is handed those of all, compares them: once for each assignment, and no broker is asked.
 *
 * The assigner is that of kafkajs, by the same name, so that members without this share a group with those that have it. What
 * another member tells may be anything, so nothing that it tells makes an assignment fail.
 */
export class Companions {
  readonly #own: Member
  readonly #report: Report
  readonly #told = new Map<KafkaEvent, string>()

  constructor(own: Member, report: Report) {
    this.#own = own
    this.#report = report
  }

  /** `undefined`, which is kafkajs's own, where kafkajs cannot be loaded from here. */
  async assigners(): Promise<PartitionAssigner[] | undefined> {
    try {
      const { default: kafkajs } = await import('kafkajs')
      return [this.#assigner(kafkajs)]
    } catch {
      return undefined
    }
  }

  #assigner({ AssignerProtocol, PartitionAssigners }: Kafkajs): PartitionAssigner {
    const { MemberMetadata } = AssignerProtocol
    const userData = Buffer.from(JSON.stringify(this.#own))
    const read = ({ memberMetadata }: GroupMember): Member | undefined => {
      try {
        const told = MemberMetadata.decode(memberMetadata)
        return told === null ? undefined : memberOf(told)
      } catch {
        return undefined
      }
    }
    return (config) => {
      const usual = PartitionAssigners.roundRobin(config)
      return {
        name: usual.name,
        version: usual.version,
        protocol: ({ topics }) => {
          const metadata = MemberMetadata.encode({ version: usual.version, topics, userData })
          return { name: usual.name, metadata }
        },
        assign: (group) => {
          try {
            this.#compare(group.members.map(read).filter((member) => member !== undefined))
          } catch {
            // Assigning matters more.
          }
          return usual.assign(group)
        },
      }
    }
  }

  #compare(members: readonly Member[]): void {
    const names = different(
      members.flatMap(({ consumer }) => (consumer === undefined ? [] : [JSON.stringify(consumer)])),
    )
    this.#tell(
      'consumer-name-differs',
      names,
      'each handles a part of the messages. Give each consumer its own groupId',
    )
    const topics = different(members.map((member) => `[${member.topics.toSorted().join(', ')}]`))
    this.#tell('topics-differ', topics, 'partitions may stay unread. Give all members of the group the same topics')
  }

  /** Once, until it is otherwise. */
  #tell(event: KafkaEvent, found: readonly string[], advice: string): void {
    const detail = found.length < 2 ? '' : `the members of the group have ${found.join(' and ')}: ${advice}`
    if (this.#told.get(event) === detail) return
    this.#told.set(event, detail)
    if (detail !== '') this.#report(event, detail)
  }
}

function memberOf({ topics, userData }: { readonly topics: readonly string[]; readonly userData: Buffer }): Member {
  const told = toldIn(userData)
  const consumer = typeof told['consumer'] === 'string' ? told['consumer'] : undefined
  return { consumer, topics: isListOfText(told['topics']) ? told['topics'] : topics }
}

/** Other clients have user data of their own. */
function toldIn(userData: Buffer): Readonly<Record<string, unknown>> {
  try {
    const told: unknown = JSON.parse(userData.toString())
    return typeof told === 'object' && told !== null ? (told as Readonly<Record<string, unknown>>) : {}
  } catch {
    return {}
  }
}

function isListOfText(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}

function different(texts: readonly string[]): readonly string[] {
  const all = [...new Set(texts)].toSorted().map((text) => text.slice(0, MOST_CHARACTERS))
  return all.length <= MOST_TOLD ? all : [...all.slice(0, MOST_TOLD), `${all.length - MOST_TOLD} more`]
}
