/** Why a goal of a scenario, or of one contender in it, is missed: from profiles. */
export const WHY: Readonly<Record<string, string>> = {}
