import type { PrivateInstance } from './private-instance.ts'

/** All of them, or none: those that did start are stopped where one did not. */
export async function startTogether<T extends PrivateInstance>(starting: readonly Promise<T>[]): Promise<readonly T[]> {
  const started = await Promise.allSettled(starting)
  const instances = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const failed = started.find((result) => result.status === 'rejected')
  if (failed === undefined) return instances
  await Promise.all(instances.map((instance) => instance.stop()))
  throw failed.reason
}

/** Applies each operation to all instances. */
export function asOne(instances: readonly PrivateInstance[]): PrivateInstance {
  const each = async (act: (instance: PrivateInstance) => Promise<void>): Promise<void> => {
    await Promise.all(instances.map(act))
  }
  const stop = (): Promise<void> => each((instance) => instance.stop())
  return {
    get pids() {
      return instances.flatMap((instance) => instance.pids)
    },
    stop,
    kill: () => each((instance) => instance.kill()),
    restart: () => each((instance) => instance.restart()),
    freeze: () => instances.forEach((instance) => instance.freeze()),
    thaw: () => instances.forEach((instance) => instance.thaw()),
    [Symbol.asyncDispose]: stop,
  }
}
