import type { ProofPart } from '../proof/part.ts'
import type { Tried } from './outcome.ts'

export function partOf(tried: readonly Tried[], seconds: number): ProofPart {
  const killed = tried.filter(({ outcome }) => outcome.kind === 'killed').length
  return {
    title: 'Mutants',
    command: 'npm run mutants',
    summary:
      `${killed} of ${tried.length} faults that were planted in the library, one at a time, were found by the layer that is to find them. ` +
      'One that lives is a missing check: it fails the command. A test counts as the killer only if it passes without the mutant, and ' +
      'with it fails by an expectation, not by code that cannot be loaded or by a time limit.',
    versions: {},
    seconds,
    tables: [
      {
        title: 'What each breaks, and what finds it',
        columns: ['mutant', 'what it breaks', 'layer', 'killed by', 'seconds'],
        rows: tried.map(({ mutant: { name, what, layer }, outcome, seconds: took }) => {
          return [name, what, layer, outcome.kind === 'killed' ? outcome.by : outcome.kind, Math.round(took * 10) / 10]
        }),
      },
    ],
    limits: [
      'Faults that nobody thought of. Of each mutant one test is run, the shortest that is known to find it: others may find it too.',
      'Where a second look guards a line, the mutant takes out that look as well.',
    ],
  }
}
