import { kafkaSource } from '../../adapters/kafkajs/client.ts'
import { platformaticOf } from '../kafka/client/platformatic.ts'
import { FAST, type Cluster } from '../kafka/kit.ts'
import { uniqueName } from '../kit/namespace.ts'
import { RecordingIntake } from '../kit/recording-intake.ts'

export const idIn = (value: Uint8Array | null | undefined): string =>
  (JSON.parse(Buffer.from(value ?? []).toString()) as { readonly id: string }).id

/** What a source of this library hands over of it. */
export async function handled(
  cluster: Cluster,
  topic: string,
  last: string,
  maxBytes = 1_048_576,
): Promise<readonly string[]> {
  const intake = RecordingIntake.settling()
  const consumerConfig = { ...FAST.consumerConfig, maxBytes, maxBytesPerPartition: maxBytes }
  const { source } = kafkaSource(platformaticOf(cluster.brokers), {
    ...FAST,
    consumerConfig,
    topics: [topic],
    group: uniqueName('group'),
  })
  await source.open(intake)
  const ids = (): readonly string[] => intake.deliveries.map(({ message }) => idIn(message.value))
  await intake.until(() => ids().includes(last))
  await source.close()
  return ids()
}
