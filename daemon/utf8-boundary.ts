/** Length of the longest beginning of UTF-8 `bytes` that does not end within a character. */
export const completeLength = (bytes: Uint8Array): number => {
  const { length } = bytes
  for (let back = 1; back <= 3 && back <= length; back++) {
    const byte = bytes[length - back] ?? 0
    if ((byte & 0xc0) === 0x80) continue
    const needed = byte >= 0xf5 || byte < 0xc2 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
    return needed > back ? length - back : length
  }
  return length
}
