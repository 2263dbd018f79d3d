import { ConfigError } from '../foundation/errors.ts'
import type { StoreLine } from '../execution/store-line.ts'
import type { ResolvedConsumer } from '../consumer/resolve-options.ts'

/**
 * Opens the store of a consumer, and calls `onOpen` when it is open. Resolves when messages may run: a consumer that may
 * run without its store does not wait for one that is down, and goes on opening it beside them. In mode `observe` not even
 * a store that can never work delays a message.
 *
 * @throws ConfigError if the store can never work as it is configured, except in mode `observe`
 */
export async function openStore(
  { store, mode, onStoreDown }: ResolvedConsumer,
  line: StoreLine,
  onOpen: () => void,
): Promise<void> {
  const openLater = async (): Promise<void> => {
    const opened = await line.ask('open', 1, async () => [await store.open()], NO_FAULT)
    if (opened !== undefined) onOpen()
  }
  if (mode === 'observe') return void openLater()
  try {
    await store.open()
    onOpen()
  } catch (error) {
    if (onStoreDown === 'pause' || error instanceof ConfigError) throw error
    void openLater()
  }
}

const NO_FAULT = (): undefined => undefined
