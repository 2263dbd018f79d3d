import type { PartitionAssigner } from 'kafkajs'
import type { KafkaEvent, Report } from '../report.ts'

/** The data that a member sends to the leader of its group. */
interface Member {
  /** `undefined`: the member does not send it. */
  readonly consumer: string | undefined
  /** All topics that it should consume, including missing ones. */
  readonly topics: readonly string[]
}

interface GroupMember {
  readonly memberId: string
  readonly memberMetadata: Buffer
}

type Kafkajs = Pick<typeof import('kafkajs'), 'AssignerProtocol' | 'PartitionAssigners'>

/** Most names, or sets of topics, that an event lists, and the longest text of each. */
const MOST_TOLD = 5
const MOST_CHARACTERS = 300

/**
 * Compares the members of the group, in all processes. Each member sends its consumer's name and its topics in the user
 * data of its subscription. The leader receives the data of all and compares them at each assignment, without a request
 * to a broker.
 *
 * The assigner is kafkajs's own, under the same name, so members with and without this feature can share a group. The
 * data of another member may be anything, so none of it makes an assignment fail.
 */
export class Companions {
  readonly #own: Member
  readonly #report: Report
  readonly #told = new Map<KafkaEvent, string>()

  constructor(own: Member, report: Report) {
    this.#own = own
    this.#report = report
  }

  /** `undefined` if kafkajs cannot be loaded from here; kafkajs then uses its own assigner. */
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
            // The assignment is more important.
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
    this.#tell('consumer-name-differs', names, 'each handles a part of the messages. Give each consumer its own group')
    const topics = different(members.map((member) => `[${member.topics.toSorted().join(', ')}]`))
    this.#tell('topics-differ', topics, 'partitions may stay unread. Give all members of the group the same topics')
  }

  /** Reports a finding once, until it changes. */
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

/** Other clients have their own user data. */
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
