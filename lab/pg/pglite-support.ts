import { constants, Script } from 'node:vm'
import type { PGlite } from '@electric-sql/pglite'

/**
 * PGlite loads modules of Node by `import()`, which jest's own context refuses without a flag of Node; so PGlite is
 * loaded in the context of Node itself.
 */
export async function newPglite(dataDir?: string): Promise<PGlite> {
  const load = new Script(`import('@electric-sql/pglite')`, {
    filename: __filename,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  })
  const { PGlite: Loaded } = (await load.runInThisContext()) as typeof import('@electric-sql/pglite')
  return Loaded.create(dataDir)
}
