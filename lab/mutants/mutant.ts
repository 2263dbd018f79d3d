import type { Change } from './change.ts'

/** A fault that is put into the library's own code on purpose, to show that a test notices it. */
export interface Mutant {
  /** In kebab-case. The source marks the places with it: `// mutant: <name>`, the second `// mutant: <name> 2`. */
  readonly name: string
  /** The broken behaviour, in one sentence. */
  readonly what: string
  /** The layer that must find it. `unit`: a test without servers. */
  readonly layer: 'simulator' | 'corpus' | 'real servers' | 'unit'
  /** One for each marked place, in the order of their numbers. */
  readonly changes: readonly Change[]
  /** Arguments of jest: one of these tests must fail with the mutant. The simulator runs seeds instead. */
  readonly tests?: readonly string[]
}

/** Mutants by name. `layer`: of those that do not say another one. */
export function mutants(
  layer: Mutant['layer'],
  named: Readonly<Record<string, Omit<Mutant, 'name' | 'layer'> & Partial<Pick<Mutant, 'layer'>>>>,
): readonly Mutant[] {
  return Object.entries(named).map(([name, mutant]) => ({ name, layer, ...mutant }))
}
