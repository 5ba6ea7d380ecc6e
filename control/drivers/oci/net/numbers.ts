/** Numbers of slots, given out in a ring, so that an address is not used again while its last holder is remembered. */
export interface Numbers {
  /** Up to `count` free numbers; fewer when fewer are left. */
  take(count: number): number[]
  free(number: number): void
}

export const ring = (capacity: number, taken: readonly number[]): Numbers => {
  const used = new Set(taken)
  let next = 0
  return {
    take(count) {
      const numbers: number[] = []
      for (let seen = 0; seen < capacity && numbers.length < count; seen++) {
        const number = next
        next = (next + 1) % capacity
        if (used.has(number)) continue
        used.add(number)
        numbers.push(number)
      }
      return numbers
    },
    free: number => void used.delete(number),
  }
}
