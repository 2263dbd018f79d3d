/** What a wrong method gets: the right one, its arguments, and the object that has it. */
type Wrong<Made, Method> = Method extends (...args: infer Args) => infer Answer
  ? (right: (...args: Args) => Answer, args: Args, made: Made) => Answer
  : never

/**
 * For a class and the signatures of its methods, also of protected ones: makes a class that is right except for one
 * method.
 */
export function wrongIn<Made extends object, Methods extends object, Options>(
  Right: new (options: Options) => Made,
): <Name extends keyof Methods & string>(
  name: Name,
  wrong: Wrong<Made, Methods[Name]>,
) => new (options: Options) => Made {
  return (name, wrong) =>
    new Proxy(Right, {
      construct(target, args, newTarget): Made {
        const made = Reflect.construct(target, args, newTarget) as Made
        const right = (Reflect.get(made, name) as (...given: unknown[]) => unknown).bind(made)
        const changed = wrong as (right: unknown, args: unknown[], made: Made) => unknown
        return Object.assign(made, { [name]: (...given: unknown[]) => changed(right, given, made) })
      },
    })
}
