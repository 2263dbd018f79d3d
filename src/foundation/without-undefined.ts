/** The properties that have a value. An `undefined` would hide the default in a spread, and some clients refuse it. */
export function withoutUndefined<T extends object>(properties: { readonly [K in keyof T]?: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== undefined)) as T
}
