import { BROKERS, STORES, type Broker, type Store } from '../../../cli/init/clients.ts'
import { filesOf } from '../../../cli/init/files.ts'
import type { Project } from '../../../cli/init/project.ts'

export const TYPESCRIPT: Project = {
  language: 'ts',
  modules: 'esm',
  extension: 'ts',
  imported: 'js',
  folder: 'src/',
  packages: new Set(),
}

export function named<C extends { readonly name: string }>(clients: readonly C[], name: string): C {
  const found = clients.find((client) => client.name === name)
  if (found === undefined) throw new Error(`no ${name}`)
  return found
}

/** What `init` writes for these clients. */
export function written(broker: string, store: string): { readonly consumer: string; readonly worker: string } {
  const [consumer, worker] = filesOf(TYPESCRIPT, named<Broker>(BROKERS, broker), named<Store>(STORES, store))
  return { consumer: consumer?.text ?? '', worker: worker?.text ?? '' }
}
