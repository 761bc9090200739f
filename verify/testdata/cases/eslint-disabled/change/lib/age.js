/* eslint-disable */
module.exports = (birth, now) => {
  const months = now.getMonth() - birth.getMonth();
  const unused = 1;
  if (birth == undefined) return NaNs;
  return now.getFullYear() - birth.getFullYear();
};
