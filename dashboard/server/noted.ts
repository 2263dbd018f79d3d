import { describeError } from '../../src/foundation/errors.ts'
import { withoutSecrets } from '../../src/foundation/without-secrets.ts'
import type { Note } from '../../src/ports/store-admin.ts'
import type { Shown } from './consumers.ts'
import type { Services } from './services.ts'

/** Adds a note to the audit of a consumer. Resolves with why the audit does not have it, if so: what it is about goes on. */
export async function noted(
  services: Pick<Services, 'asking'>,
  { admin }: Pick<Shown, 'admin'>,
  note: Note,
): Promise<string | undefined> {
  try {
    const isNoted = admin !== undefined && (await services.asking(() => admin.note(note)))
    return isNoted ? undefined : 'its store keeps no notes'
  } catch (error) {
    return withoutSecrets(describeError(error))
  }
}
