makeTours();
begin();
