/** Decorates a method and its parameters as the syntax of decorators does, which the sources here are not compiled with. */
export function decorate(
  prototype: object,
  method: string,
  of: readonly MethodDecorator[],
  parameters: readonly ParameterDecorator[] = [],
): void {
  for (const [at, parameter] of parameters.entries()) parameter(prototype, method, at)
  const descriptor = Object.getOwnPropertyDescriptor(prototype, method) as PropertyDescriptor
  for (const one of of.toReversed()) one(prototype, method, descriptor)
}
