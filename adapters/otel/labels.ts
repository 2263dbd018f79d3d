import type { Labels } from '../../src/internal.ts'

export type LabelAttributes = Record<string, string>

/** Labels of counts and distributions live as long as these. */
const ATTRIBUTES = new WeakMap<Labels, LabelAttributes>()

/** An attribute without a value is left out. */
export function attributesOfLabels(labels: Labels): LabelAttributes {
  let attributes = ATTRIBUTES.get(labels)
  if (attributes === undefined) {
    attributes = Object.fromEntries(Object.entries(labels).filter(([, value]) => value !== ''))
    ATTRIBUTES.set(labels, attributes)
  }
  return attributes
}
