/** Steps of a message, as a proxy sees them between a worker and its servers. */
export type Moment =
  | 'delivered'
  | 'claim sent'
  | 'claimed'
  | 'effect sent'
  | 'effect applied'
  | 'mark sent'
  | 'marked'
  | 'settle sent'
  | 'settled'
  | 'copy sent'
  | 'copied'

export type Step = 'S0' | 'S1' | 'S2' | 'S3' | 'S4' | 'S5' | 'S6' | 'S7'

export const MOMENT_OF: Readonly<Record<Step, Moment>> = {
  S0: 'delivered',
  S1: 'claim sent',
  S2: 'claimed',
  S3: 'effect applied',
  S4: 'mark sent',
  S5: 'marked',
  S6: 'settle sent',
  S7: 'settled',
}

export const STEPS: readonly Step[] = ['S0', 'S1', 'S2', 'S3', 'S4', 'S5', 'S6', 'S7']
