/** The properties that have a value: for targets that tell a missing one from an undefined one. */
export function withoutUndefined<T extends object>(properties: { readonly [K in keyof T]?: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== undefined)) as T
}
