import type { PartitionAssigner } from 'kafkajs'
import type { Companions } from '../kafka/client.ts'

/**
 * kafkajs's own assigner, under the same name, so members with and without `companions` can share a group. Each member
 * sends its user data with its subscription, and the leader compares them at each assignment, without a request to a
 * broker. The data of another member may be anything, so none of it makes an assignment fail.
 *
 * `undefined` if kafkajs cannot be loaded from here; kafkajs then uses its own assigner.
 */
export async function assignersFor(companions: Companions | undefined): Promise<PartitionAssigner[] | undefined> {
  if (companions === undefined) return undefined
  try {
    const { default: kafkajs } = await import('kafkajs')
    return [assigner(kafkajs, companions)]
  } catch {
    return undefined
  }
}

type Kafkajs = Pick<typeof import('kafkajs'), 'AssignerProtocol' | 'PartitionAssigners'>

function assigner({ AssignerProtocol, PartitionAssigners }: Kafkajs, companions: Companions): PartitionAssigner {
  const { MemberMetadata } = AssignerProtocol
  return (config) => {
    const usual = PartitionAssigners.roundRobin(config)
    return {
      name: usual.name,
      version: usual.version,
      protocol: ({ topics }) => {
        const metadata = MemberMetadata.encode({ version: usual.version, topics, userData: companions.userData })
        return { name: usual.name, metadata }
      },
      assign: (group) => {
        companions.compare(group.members.flatMap(({ memberMetadata }) => read(memberMetadata) ?? []))
        return usual.assign(group)
      },
    }
  }

  function read(metadata: Buffer): ReturnType<typeof MemberMetadata.decode> | undefined {
    try {
      return MemberMetadata.decode(metadata)
    } catch {
      return undefined
    }
  }
}
