/** The object without members that are undefined, null, '' , [] or {}. */
export const dense = (value: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(value).filter(
      ([, member]) =>
        member !== undefined &&
        member !== null &&
        member !== '' &&
        !(typeof member === 'object' && Object.keys(member).length === 0),
    ),
  )
