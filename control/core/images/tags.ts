/** Name and tag of a reference. */

/** `busybox:1.36` is the tag `1.36` of `busybox`; a colon before the last slash belongs to a registry's port. */
export const splitReference = (reference: string): readonly [name: string, tag: string] => {
  const at = reference.indexOf('@')
  if (at >= 0) return [reference.slice(0, at), reference.slice(at + 1)]
  const cut = reference.indexOf(':', reference.lastIndexOf('/') + 1)
  return cut < 0 ? [reference, 'latest'] : [reference.slice(0, cut), reference.slice(cut + 1)]
}
