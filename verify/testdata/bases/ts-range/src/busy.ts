import { overlap, type Range } from './range.js';

export function busy(day: Range, meetings: Range[]): number {
  let sum = 0;
  for (const meeting of meetings) {
    const part = overlap(day, meeting);
    if (part) sum += part.to - part.from;
  }
  return sum;
}
