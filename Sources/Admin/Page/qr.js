"use strict";
// A QR code (ISO/IEC 18004) of a text: its bytes with error correction of level L, in versions 1 to 6, so up to 134 of them.
// Returns rows of modules, true for dark ones; null when the text is too long.
const qr = (text) => {
  // For each version: all bytes, those of error correction. The last has two blocks.
  const versions = [[26, 7], [44, 10], [70, 15], [100, 20], [134, 26], [172, 36]];
  const bytes = [...new TextEncoder().encode(text)];
  const found = versions.findIndex(([all, checks]) => bytes.length + 2 <= all - checks);
  if (found < 0) return null;
  const [all, checks] = versions[found];
  const blocks = found < 5 ? 1 : 2;
  const check = checks / blocks;
  const size = 21 + 4 * found;

  // The field of 256 elements by x^8 + x^4 + x^3 + x^2 + 1.
  const power = [1];
  while (power.length < 255) {
    const next = power[power.length - 1] << 1;
    power.push(next > 255 ? next ^ 0x11d : next);
  }
  const product = (one, other) => (one && other ? power[(power.indexOf(one) + power.indexOf(other)) % 255] : 0);

  // The polynomial with the roots 2^0 to 2^(check - 1), without its leading 1.
  let generator = [1];
  for (let root = 0; root < check; root += 1) {
    const longer = [...generator, 0];
    generator.forEach((value, index) => { longer[index + 1] ^= product(value, power[root]); });
    generator = longer;
  }
  const correction = (data) => {
    const rest = Array(check).fill(0);
    for (const value of data) {
      const factor = value ^ rest.shift();
      rest.push(0);
      for (let index = 0; index < check; index += 1) rest[index] ^= product(generator[index + 1], factor);
    }
    return rest;
  };

  // Mode "bytes", the length, the bytes, an end; then filling.
  const halves = (value) => [value >> 4, value & 15];
  const nibbles = [4, ...halves(bytes.length), ...bytes.flatMap(halves), 0];
  const room = all - checks;
  const data = [];
  for (let index = 0; index < nibbles.length; index += 2) data.push((nibbles[index] << 4) | nibbles[index + 1]);
  for (let filling = 0xec; data.length < room; filling ^= 0xec ^ 0x11) data.push(filling);

  // The bytes of the blocks are interleaved.
  const parts = Array.from({ length: blocks }, (_, index) => data.slice((index * room) / blocks, ((index + 1) * room) / blocks));
  const interleaved = (lists) => lists[0].flatMap((_, index) => lists.map((list) => list[index]));
  const stream = [...interleaved(parts), ...interleaved(parts.map(correction))];

  // Patterns: undefined where data goes.
  const modules = Array.from({ length: size }, () => Array(size).fill());
  const set = (x, y, isDark) => { if (modules[y] && x >= 0 && x < size) modules[y][x] = isDark; };
  const rings = (centreX, centreY, radius, light) => {
    for (let y = -radius; y <= radius; y += 1) {
      for (let x = -radius; x <= radius; x += 1) {
        set(centreX + x, centreY + y, !light.includes(Math.max(Math.abs(x), Math.abs(y))));
      }
    }
  };
  for (let index = 0; index < size; index += 1) {
    set(6, index, index % 2 === 0);
    set(index, 6, index % 2 === 0);
  }
  for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]]) rings(x, y, 4, [2, 4]);
  if (found > 0) rings(size - 7, size - 7, 2, [1]);
  const format = (mask) => {
    // Level L is 1. With its remainder by a polynomial.
    const value = 8 | mask;
    let rest = value << 10;
    for (let bit = 14; bit >= 10; bit -= 1) if ((rest >>> bit) & 1) rest ^= 0x537 << (bit - 10);
    const code = ((value << 10) | rest) ^ 0x5412;
    for (let index = 0; index < 15; index += 1) {
      const isDark = ((code >> index) & 1) === 1;
      if (index < 8) {
        set(8, index < 6 ? index : index + 1, isDark);
        set(size - 1 - index, 8, isDark);
      } else {
        set(index === 8 ? 7 : 14 - index, 8, isDark);
        set(8, size - 15 + index, isDark);
      }
    }
    set(8, size - 8, true);
  };
  format(0);

  // Where data goes: in columns of two from the right, upwards and downwards in turn, not through the timing pattern.
  const places = [];
  for (let right = size - 1, isUp = true; right > 0; right -= 2, isUp = !isUp) {
    if (right === 6) right = 5;
    for (let step = 0; step < size; step += 1) {
      const y = isUp ? size - 1 - step : step;
      for (const x of [right, right - 1]) if (modules[y][x] === undefined) places.push([x, y]);
    }
  }
  const masks = [
    (x, y) => (x + y) % 2, (x, y) => y % 2, (x) => x % 3, (x, y) => (x + y) % 3,
    (x, y) => ((x / 3 | 0) + (y >> 1)) % 2, (x, y) => ((x * y) % 2) + ((x * y) % 3),
    (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2, (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2,
  ];
  const drawn = masks.map((mask, number) => {
    format(number);
    places.forEach(([x, y], index) => {
      const isSet = ((stream[index >> 3] ?? 0) >> (7 - (index & 7))) & 1;
      modules[y][x] = (isSet === 1) !== (mask(x, y) === 0);
    });
    return modules.map((row) => [...row]);
  });
  // What readers stumble over: long runs of one colour, squares of one colour, what looks like a finder pattern.
  const penalty = (rows) => {
    const columns = rows.map((_, x) => rows.map((row) => row[x]));
    let points = 0;
    for (const line of [...rows, ...columns].map((modules) => modules.map(Number).join(""))) {
      for (const run of line.match(/0{5,}|1{5,}/g) ?? []) points += run.length - 2;
      points += 40 * (line.match(/(?=00001011101|10111010000)/g) ?? []).length;
    }
    for (let y = 1; y < size; y += 1) {
      for (let x = 1; x < size; x += 1) {
        if ((rows[y][x] + rows[y - 1][x] + rows[y][x - 1] + rows[y - 1][x - 1]) % 4 === 0) points += 3;
      }
    }
    return points;
  };
  const points = drawn.map(penalty);
  return drawn[points.indexOf(Math.min(...points))];
};
